export { DataFolderError } from './data-folder.js';
export { takeLock, type LockFile } from './lock-file.js';
export { type PassProgress } from './offline/read-records.js';
export { rebuild, type ProjectorsOf, type Rebuilt } from './offline/rebuild.js';
export { trim, type Trimmed, type TrimOptions } from './offline/trim.js';
export { verify, type Verification, type VerifyOptions } from './offline/verify.js';
export { openStorage, type Storage } from './storage.js';
