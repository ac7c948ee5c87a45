/** Settles as the work does. Rejects with what `late` makes after `ms` milliseconds. */
export function inTime<T>(work: Promise<T>, ms: number, late: () => Error): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(late()), ms);
    const settled =
      <A>(settle: (as: A) => void) =>
      (as: A): void => {
        clearTimeout(timer);
        settle(as);
      };
    work.then(settled(resolve), settled(reject));
  });
}
