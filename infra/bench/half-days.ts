// Loaded before a server, it has the server's clock go half a day further with each SIGUSR2.
const halfDayMs = 43_200_000;
const nowMs = Date.now;
let aheadMs = 0;

Date.now = () => nowMs() + aheadMs;
process.on('SIGUSR2', () => (aheadMs += halfDayMs));
