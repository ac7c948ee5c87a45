import type { View } from '#log';
import type { ApiKey } from '#model';

/** Keys by their organization: the topic has them by the digest of their secret, which is what a request brings. */
export class KeysByOrganization {
  readonly #organizationOf = new Map<string, string>();
  readonly #keysOf = new Map<string, Map<string, ApiKey>>();

  /** @param view is ready: what it reads at its start is not told as a change. */
  constructor(view: View<ApiKey>) {
    view.changes(({ key, value }) => this.#set(key, value));
    for (const [keyId, key] of view.scan('')) this.#set(keyId, key);
  }

  /** Keys of an organization, in no order. */
  of(orgId: string): Iterable<ApiKey> {
    return this.#keysOf.get(orgId)?.values() ?? [];
  }

  #set(keyId: string, key: ApiKey | null): void {
    const before = this.#organizationOf.get(keyId);
    const siblings = before === undefined ? undefined : this.#keysOf.get(before);
    if (siblings?.delete(keyId) && siblings.size === 0) this.#keysOf.delete(before!);
    this.#organizationOf.delete(keyId);
    if (!key) return;
    this.#organizationOf.set(keyId, key.orgId);
    const keys = this.#keysOf.get(key.orgId);
    if (keys) keys.set(keyId, key);
    else this.#keysOf.set(key.orgId, new Map([[keyId, key]]));
  }
}
