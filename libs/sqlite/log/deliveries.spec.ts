import { describe } from '@jest/globals';
import { deliveriesContract } from '#testing';
import { openTestLog } from '../open-test-log.js';

describe('the deliveries of the embedded log', () => {
  deliveriesContract(() => openTestLog());
});
