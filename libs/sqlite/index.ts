export { DataFolderError } from './data-folder.js';
export { openStorage, type Storage } from './storage.js';
