import { operator } from '#edge';
import { operatorOrgId } from '#model';
import { command } from './command.js';
import { connectionFlags } from './connection.js';
import { exportAll } from './export-all.js';
import { Failure, usage } from './failure.js';
import { changing, withOrganizations } from './organizations.js';
import { dataFlag } from './target.js';

export const body = command({
  about:
    'Deletes an organization and all that it has: points, events, keys, people, monitors and alert targets. Within seconds nobody is let in any more; the running ' +
    'roles of the data plane remove the rest within minutes, and the server of a data folder does after its next start. The log keeps the bytes ' +
    'for as long as it keeps its records. Without --yes it only says what it would delete.',
  argument: { name: 'ORGANIZATION', about: 'its id, as `headwater org list` shows it' },
  flags: {
    data: dataFlag,
    export: {
      value: 'FILE',
      about: 'first write all that its devices have sent there, as `headwater export --all` does, with a key of the organization',
    },
    ...connectionFlags,
    yes: { about: 'delete it' },
  },
  examples: [
    'headwater org delete org_0000000000000002 --data data --yes',
    'headwater org delete org_0000000000000002 --export plant-7.ndjson --url http://localhost:8080 --yes',
  ],
  async run({ data, export: file, yes, ...flags }, io, orgId) {
    if (orgId === operatorOrgId) throw usage('Each start of the server makes this organization again: delete what it has instead.');
    if (file !== undefined && data !== undefined) throw usage('Export from a server that runs, then stop it and leave out --export.');
    await withOrganizations(data, async (organizations, ports) => {
      const organization = organizations.get(orgId);
      if (!organization) throw new Failure(`There is no organization ${orgId}: see \`headwater org list\`.`);
      if (!yes)
        throw new Failure(`This would delete the organization ${orgId} (${organization.name}) and all that it has: say --yes to do it.`);
      if (file !== undefined) await exportAll({ flags, file, orgId }, io);
      await changing(ports, organizations, (changes) => changes.delete(orgId, operator));
    });
    io.note(`Deleted the organization ${orgId}.`);
  },
});
