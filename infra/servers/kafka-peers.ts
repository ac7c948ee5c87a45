import { connect } from 'node:net';

/** Metadata request, version 1, without a client id, for no topics. */
const request = Buffer.from('0000000e0003000100000000ffff00000000', 'hex');

/** The node ids of the brokers that a broker knows to be alive. Rejects while it does not serve. */
export async function livePeers(port: number): Promise<readonly number[]> {
  const socket = connect({ port, host: '127.0.0.1' }).setTimeout(2_000, () => socket.destroy(new Error('no answer')));
  socket.write(request);
  let answer = Buffer.alloc(0);
  for await (const chunk of socket) {
    answer = Buffer.concat([answer, chunk as Buffer]);
    if (answer.length >= 4 && answer.length >= 4 + answer.readInt32BE(0)) return idsIn(answer.subarray(8));
  }
  throw new Error('no answer');
}

/** An array of (node id, host, port, rack). */
function idsIn(brokers: Buffer): readonly number[] {
  const ids: number[] = [];
  for (let at = 4; ids.length < brokers.readInt32BE(0);) {
    ids.push(brokers.readInt32BE(at));
    at += 4 + 2 + brokers.readInt16BE(at + 4) + 4;
    at += 2 + Math.max(0, brokers.readInt16BE(at));
  }
  return ids;
}
