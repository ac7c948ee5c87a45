/**
 * The URL with a path that can be decoded. Where the path is no percent-encoded UTF-8 its percent signs stand for themselves, so that a
 * route finds such an id, after the key was checked, and refuses it as its own.
 */
export function decodableUrl(url: string): string {
  if (!url.includes('%')) return url;
  const end = url.indexOf('?');
  const path = end < 0 ? url : url.slice(0, end);
  try {
    decodeURIComponent(path);
    return url;
  } catch {
    return path.replaceAll('%', '%25') + url.slice(path.length);
  }
}
