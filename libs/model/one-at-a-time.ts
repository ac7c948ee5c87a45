/**
 * Makes a function that runs pieces of work one after the other, in the order of the calls. It settles as the work does; work that fails does
 * not keep the next from running.
 */
export function oneAtATime(): <T>(work: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const done = last.then(work);
    last = done.catch(() => undefined);
    return done;
  };
}
