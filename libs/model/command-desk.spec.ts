import { describe, expect, it } from '@jest/globals';
import { CommandDesk, maxHandOverMs, maxUndelivered } from './command-desk.js';
import { afterReport, type ReportKind, type CommandState } from './command.js';

const keyOf = (id: number): string => `o/s/${id}`;

describe('the desk of a gateway', () => {
  const give = (desk: CommandDesk, ids: readonly number[], nowMs: number): string[] => ids.map((id) => desk.decide(keyOf(id), 0, nowMs));
  const first64 = Array.from({ length: maxUndelivered }, (_, at) => at);

  it.each([
    [0, 'hand_over'],
    [maxHandOverMs - 1, 'hand_over'],
    [maxHandOverMs, 'late'],
    [Number.NaN, 'late'],
  ])('makes of a command that is %d ms old: %s', (ageMs, verdict) => {
    expect(new CommandDesk().decide(keyOf(1), ageMs, 0)).toBe(verdict);
  });

  it('hands over 64 commands and not the 65th, until one is answered or 30 seconds have gone by', () => {
    const desk = new CommandDesk();
    expect(new Set(give(desk, first64, 0))).toEqual(new Set(['hand_over']));
    expect(give(desk, [64], 0)).toEqual(['full']);
    expect(desk.decide('o/other/1', 0, 0)).toBe('hand_over');
    desk.settled(keyOf(7));
    expect(give(desk, [65, 66], 29_999)).toEqual(['hand_over', 'full']);
    expect(give(desk, [67], 30_000)).toEqual(['hand_over']);
    expect(desk.undelivered('o/s')).toBe(2);
  });

  it('decides each command once, whatever became of it', () => {
    const desk = new CommandDesk();
    give(desk, first64, 0);
    give(desk, [64], 0);
    desk.settled(keyOf(0));
    expect(give(desk, [0, 63, 64], 59_999)).toEqual(['repeated', 'repeated', 'repeated']);
  });

  it('counts what other gateways have handed over, once', () => {
    const desk = new CommandDesk();
    for (const id of [...first64, 3]) desk.handedOver(keyOf(id), 0);
    expect(give(desk, [64], 0)).toEqual(['full']);
    desk.settled(keyOf(3));
    expect(give(desk, [65], 0)).toEqual(['hand_over']);
  });

  it('does not count a command again that it has handed over itself and that is answered', () => {
    const desk = new CommandDesk();
    give(desk, [1], 0);
    desk.settled(keyOf(1));
    desk.handedOver(keyOf(1), 1);
    expect(desk.undelivered('o/s')).toBe(0);
  });

  it('remembers as many commands of an organization in a minute as half of what others leave of 250,000, and decides no more', () => {
    const desk = new CommandDesk();
    for (let id = 0; id < 125_000; id++) desk.decide(keyOf(id), Infinity, 0);
    const decide = (org: string, nowMs = 1): string => desk.decide(`${org}/s/new`, 0, nowMs);
    expect([decide('o'), decide('other'), decide('another')]).toEqual(['beyond', 'hand_over', 'hand_over']);
    // It was not decided, so that it may be decided later.
    expect(decide('o', 60_000)).toBe('hand_over');
  });
});

describe('the reports of a command', () => {
  const handedOver: CommandState = { orgId: 'o', sourceId: 's', commandId: 'c', name: 'n', sentMs: 1, isAcknowledged: false };
  it.each<[readonly ReportKind[], readonly ReportKind[]]>([
    [
      ['ack', 'result'],
      ['ack', 'result'],
    ],
    [['result'], ['result']],
    [['error', 'ack', 'error'], ['error']],
    [['status', 'status', 'error', 'result'], ['error']],
    [
      ['ack', 'ack', 'status', 'result', 'result'],
      ['ack', 'result'],
    ],
  ])('%j are the outcomes %j', (reports, outcomes) => {
    let state: CommandState | null = handedOver;
    const kept: ReportKind[] = [];
    for (const report of reports) {
      const reported: ReturnType<typeof afterReport> | null = state && afterReport(state, report);
      if (!reported) continue;
      if (reported.isOutcome) kept.push(report);
      state = reported.state;
    }
    expect(kept).toEqual(outcomes);
  });
});
