/** Of RFC 6455: the last frame of its message, which is text. */
const finalText = 0x81;

/**
 * A text message as one whole WebSocket frame of a server, so that the same bytes are written to every socket, each in one piece. `ws` makes a header for
 * each socket, and two pieces of each frame.
 */
export function textFrame(text: string): Buffer {
  const length = Buffer.byteLength(text);
  const header = length < 126 ? 2 : length < 65_536 ? 4 : 10;
  const frame = Buffer.allocUnsafe(header + length);
  frame[0] = finalText;
  frame[1] = header === 2 ? length : header === 4 ? 126 : 127;
  if (header === 4) frame.writeUInt16BE(length, 2);
  if (header === 10) frame.writeBigUInt64BE(BigInt(length), 2);
  frame.write(text, header);
  return frame;
}
