/** The sources that a body names, as far as it matters: whether it is only one. */
export class NamedSources {
  #first: string | undefined;
  #isOne = true;

  add(sourceId: string): void {
    this.#first ??= sourceId;
    if (this.#first !== sourceId) this.#isOne = false;
  }

  /** The source that is named, when it is the only one. */
  get only(): string | undefined {
    return this.#isOne ? this.#first : undefined;
  }
}
