import type { FastifyInstance } from 'fastify';

interface Route {
  readonly path: RegExp;
  readonly methods: Set<string>;
  /** Those of them that pages of any origin may use. */
  readonly cors: Set<string>;
}

/** Which methods each path has, for 405 and OPTIONS. Asked only when no route fits, so it may be slow. */
export class Routes {
  readonly #routes = new Map<string, Route>();

  /** Watches the routes that are made from now on. */
  watch(instance: FastifyInstance): void {
    instance.addHook('onRoute', ({ url, method, config }) => {
      const route = this.#routes.get(url) ?? { path: pattern(url), methods: new Set(), cors: new Set() };
      this.#routes.set(url, route);
      for (const name of [method].flat()) {
        route.methods.add(name);
        if (config?.access?.cors !== false) route.cors.add(name);
      }
    });
  }

  /** The methods of a path, or those that pages of any origin may use, sorted; empty when no route has it. */
  methods(url: string, which: 'methods' | 'cors' = 'methods'): readonly string[] {
    const path = url.split('?', 1)[0]!;
    const fitting = Array.from(this.#routes.values()).filter((route) => route.path.test(path));
    return Array.from(new Set(fitting.flatMap((route) => Array.from(route[which])))).toSorted();
  }
}

function pattern(url: string): RegExp {
  const parts = url.split('/').map((part) => {
    if (part === '*') return '.*';
    return part.startsWith(':') ? '[^/]+' : part.replaceAll(/[^\w]/g, String.raw`\$&`);
  });
  return new RegExp(`^${parts.join('/')}$`);
}
