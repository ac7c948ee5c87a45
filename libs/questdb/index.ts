export { openQuestDb } from './quest-db.js';
