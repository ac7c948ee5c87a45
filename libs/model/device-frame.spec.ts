import { describe, expect, it } from '@jest/globals';
import { readFrame, seqInText } from './device-frame.js';
import { atOnce } from './ingest.js';

const large = `"points":[${'{"metric":"m","tags":{"a":"\\"seq\\":9}"},"seq":8,"value":1},'.repeat(8000)}{"seq":5}]`;

describe('a frame of a device', () => {
  it.each([
    ['{"type":"telemetry","seq":7,"points":[]}', 'telemetry', 7],
    ['{"type": "telemetry", "points": [], "seq": 7}', 'telemetry', 7],
    ['{"type":"telemetry","points":[{"metric":"m","value":1,"seq":5}]}', 'telemetry', undefined],
    ['{"type":"telemetry","points":[],"x\\"seq":5}', 'telemetry', undefined],
    ['{"type":"telemetry","points":[],"seq":3,"x":{"seq":5}}', 'telemetry', 3],
    ['{"type":"telemetry","points":[],"seq":3,"x":[{"seq":5}]}', 'telemetry', 3],
    ['{"points":[],"seq":3,"type":"telemetry"}', 'telemetry', 3],
    ['{"seq":2,"type":"heartbeat"}', 'heartbeat', 2],
    ['{"type":"telemetry","seq":0,"points":[]}', 'telemetry', undefined],
    ['{"type":"telemetry","seq":-1,"points":[]}', 'telemetry', undefined],
    ['{"type":"telemetry","seq":1.5,"points":[]}', 'telemetry', undefined],
    ['{"type":"telemetry","seq":"1","points":[]}', 'telemetry', undefined],
    ['{"type":"command_status","seq":2}', 'command_status', undefined],
    ['[]', undefined, undefined],
    ['"telemetry"', undefined, undefined],
    [`{"type":"telemetry",${large},"seq":6}`, 'telemetry', 6],
    [`{${large},"seq":6,"type":"telemetry"}`, 'telemetry', 6],
    [`{"type":"telemetry",${large}}`, 'telemetry', undefined],
    [`{"type":"telemetry",${large},"seq":6,"x":{"seq":7}}`, 'telemetry', 6],
  ])('#%#', (text, type, seq) => {
    const frame = atOnce(readFrame(Buffer.from(text)));
    expect([frame.type, frame.seq]).toEqual([type, seq]);
  });

  it.each([
    ['{"type":"telemetry","seq":7,"points":[', 7],
    ['{"seq":7', 7],
    ['{"type":"telemetry","points":[{"seq":7', undefined],
    ['{"type":"command_status","seq":7', undefined],
    ['nonsense', undefined],
  ])('%s that is not JSON', (text, seq) => {
    expect(seqInText(Buffer.from(text))).toBe(seq);
  });
});
