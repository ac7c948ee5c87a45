import { Module } from '@nestjs/common';
import { Connections } from '../presence.js';
import { Fleet } from './fleet.js';
import { Questions } from './questions.js';

const services = [Connections, Fleet, Questions];

/** For roles that read the stores. In one process they share it, so that all questions take turns. Needs GENERATIONS from a global module. */
@Module({ providers: services, exports: services })
export class ReadsModule {}
