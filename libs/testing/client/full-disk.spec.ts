import { execFileSync, spawnSync } from 'node:child_process';
import { unlinkSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect } from '@jest/globals';
import type { Running } from '#runtime';
import { itIf } from '../api/stage.js';
import { eventually } from '../eventually.js';
import { Link } from '../link.js';
import { startEmbedded } from '../start-embedded.js';
import { DeviceProcess, type DeviceOrder } from './device-process.js';
import { allOf, storedPoints } from './stored-points.js';

const mib = 1024 * 1024;
/** At most so many bytes of points are in memory and not in the folder, while the disk cannot be written. */
const maxInMemory = 9 * mib;
/** Points of at most so many bytes are being sent, and need not be in the folder any more. */
const maxOnItsWay = mib;

let dir: string;
let server: Running;

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'headwater-'));
  server = await startEmbedded({ dataDir: join(dir, 'data') });
  await server.opened;
});

afterAll(async () => {
  await server.stop();
  await rm(dir, { recursive: true });
});

/** A disk that gets full, as one process sees it. */
interface Disk {
  readonly isHere: boolean;
  /** A command that runs the command which follows it with that disk as a folder. */
  readonly around: (folder: string) => readonly string[];
  readonly makeRoom: (pid: number, folder: string) => void;
}

/** Runs a shell that goes on as the command which follows. */
const shell = (script: string, folder: string): readonly string[] => ['sh', '-c', `${script}; exec "$@"`, folder];
const mounting = ['unshare', '--map-root-user', '--mount'];
const canMount = spawnSync(mounting[0]!, [...mounting.slice(1), 'mount', '-t', 'tmpfs', 'none', tmpdir()]).status === 0;
/** A file system of so many bytes, and a file in it that takes so many of them. */
const ballasted = (folder: string, bytes: number, ballast: number): readonly string[] => [
  ...mounting,
  ...shell(`mount -t tmpfs -o size=${bytes} none "$0" && head -c ${ballast} /dev/zero >"$0/ballast"`, folder),
];

const disks: Readonly<Record<string, Disk>> = {
  'a file system without room (needs mount)': {
    isHere: canMount,
    around: (folder) => ballasted(folder, 24 * mib, 20 * mib),
    makeRoom: (pid, folder) => unlinkSync(join(`/proc/${pid}/root`, folder, 'ballast')),
  },
  'files that must not grow': {
    // Elsewhere there is no prlimit to make room with.
    isHere: process.platform === 'linux',
    around: (folder) => shell('ulimit -S -f 600', folder),
    makeRoom: (pid) => void execFileSync('prlimit', ['--pid', `${pid}`, '--fsize=unlimited']),
  },
};

/** Bytes in the files of a folder, as a process sees it. */
async function bytesIn(pid: number, folder: string): Promise<number> {
  const seen = join(`/proc/${pid}/root`, folder);
  const sizes = await Promise.all((await readdir(seen)).map(async (name) => (await stat(join(seen, name))).size));
  return sizes.reduce((sum, size) => sum + size, 0);
}

describe('a device whose disk is full', () => {
  for (const [at, [name, { isHere, around, makeRoom }]] of Object.entries(disks).entries())
    itIf(isHere)(`goes on in memory and writes again once there is room: ${name}`, async () => {
      const disk = join(dir, `disk-${at}`);
      const folder = join(disk, 'buffer');
      await mkdir(disk);
      const link = await Link.to(() => Number(new URL(server.url).port));
      await link.turn('refusing');
      const order: DeviceOrder = {
        sourceId: `disk-${at}`,
        url: `http://127.0.0.1:${link.port}`,
        apiKey: server.firstKey!,
        buffer: { folder },
        retry: { firstMs: 50, maxMs: 500 },
        metric: 'm',
        tags: { long: 'x'.repeat(200) },
        points: 60_000,
        overMs: 1500,
        startMs: Date.now() - 120_000,
      };
      const device = new DeviceProcess(order, around(disk));
      await device.reaches('waiting');
      const full = device.state;
      expect(full.errors).toContain('buffer_failed');
      expect(full.stats.dropped).toBeGreaterThan(0);
      expect(full.stats.buffered.bytes - (await bytesIn(device.pid, folder))).toBeLessThan(maxInMemory);

      makeRoom(device.pid, disk);
      await eventually(async () => expect(await bytesIn(device.pid, folder)).toBeGreaterThan(full.stats.buffered.bytes - maxOnItsWay));
      await link.turn('open');
      await device.reaches('settled');
      expect(await device.end()).toBe('');
      const { handedOver, stored, refused, dropped } = device.state.stats;
      expect({ handedOver, all: stored + dropped, refused, dropped }).toEqual({
        handedOver: order.points,
        all: order.points,
        refused: 0,
        dropped: full.stats.dropped,
      });
      await eventually(async () => {
        const { numbers, events, wrong } = await storedPoints(order, server.url);
        expect({ stored: numbers + events, wrong }).toEqual({ stored, wrong: [] });
      });
      link.close();
    });

  itIf(canMount)('starts there too, with no room for a single byte (needs mount)', async () => {
    const disk = join(dir, 'no-room');
    await mkdir(disk);
    const order: DeviceOrder = {
      sourceId: 'no-room',
      url: server.url,
      apiKey: server.firstKey!,
      buffer: { folder: join(disk, 'buffer') },
      metric: 'm',
      points: 1000,
      overMs: 200,
      startMs: Date.now() - 60_000,
    };
    const device = new DeviceProcess(order, ballasted(disk, mib, mib));
    await device.reaches('settled');
    expect(device.state.errors).toContain('buffer_failed');
    expect(await device.end()).toBe('');
    await eventually(async () => expect(await storedPoints(order, server.url)).toEqual(allOf(order)));
  });
});
