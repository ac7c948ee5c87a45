/** What stands behind the head of a frame that a server sends to a WebSocket. */
export const frameText = (frame: Buffer): string => frame.toString('utf8', frame[1]! < 126 ? 2 : frame[1] === 126 ? 4 : 10);
