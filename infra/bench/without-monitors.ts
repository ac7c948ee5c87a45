import { registerHooks } from 'node:module';

// Loaded before a server, it has the server start without the group that evaluates monitors: what that group costs is the difference.
const list = '...this.deciders, this.monitors, ';

registerHooks({
  load(url, context, next) {
    const loaded = next(url, context);
    if (!url.endsWith('/apps/processors/processors.js')) return loaded;
    const source = Buffer.from(loaded.source as Uint8Array).toString();
    if (!source.includes(list)) throw new Error('the list of reactors has changed: the run is void');
    return { ...loaded, source: source.replace(list, '...this.deciders, ') };
  },
});
