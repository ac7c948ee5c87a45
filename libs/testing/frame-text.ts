const headers: Readonly<Record<number, number>> = { 126: 4, 127: 10 };

/** The text in a whole WebSocket frame of a server (RFC 6455). */
export const frameText = (frame: Buffer): string => frame.toString('utf8', headers[frame[1]!] ?? 2);
