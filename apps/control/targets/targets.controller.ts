import { Controller, Delete, Get, HttpCode, Param, Patch, Post } from '@nestjs/common';
import type { z } from 'zod';
import { Access, CallerParam, JsonBody } from '#edge';
import type { Caller } from '#model';
import { TargetBook } from './target-book.js';
import {
  newTarget,
  targetChange,
  toAttemptJson,
  toCreatedTarget,
  toListedTarget,
  type attemptJson,
  type createdTarget,
  type listedTarget,
} from './targets.js';

/** Where the caller's organization is told of alerts. */
@Controller('api')
@Access({ may: 'targets' })
export class TargetsController {
  constructor(private readonly book: TargetBook) {}

  @Get('alert-targets')
  list(@CallerParam() caller: Caller): z.output<typeof listedTarget>[] {
    return this.book.list(caller).map(toListedTarget);
  }

  @Post('alert-targets')
  async create(
    @CallerParam() caller: Caller,
    @JsonBody(newTarget) wanted: z.output<typeof newTarget>,
  ): Promise<z.output<typeof createdTarget>> {
    return toCreatedTarget(await this.book.create(caller, wanted));
  }

  @Patch('alert-targets/:id')
  async change(
    @CallerParam() caller: Caller,
    @Param('id') targetId: string,
    @JsonBody(targetChange) change: z.output<typeof targetChange>,
  ): Promise<z.output<typeof listedTarget>> {
    return toListedTarget(await this.book.change(caller, targetId, change));
  }

  @Delete('alert-targets/:id')
  @HttpCode(204)
  async delete(@CallerParam() caller: Caller, @Param('id') targetId: string): Promise<void> {
    await this.book.delete(caller, targetId);
  }

  @Post('alert-targets/:id/rotate-secret')
  @HttpCode(200)
  async rotate(@CallerParam() caller: Caller, @Param('id') targetId: string): Promise<z.output<typeof createdTarget>> {
    return toCreatedTarget(await this.book.rotate(caller, targetId));
  }

  /** Answers what the target answered. */
  @Post('alert-targets/:id/test')
  @HttpCode(200)
  async test(@CallerParam() caller: Caller, @Param('id') targetId: string): Promise<z.output<typeof attemptJson>> {
    return toAttemptJson(targetId, await this.book.test(caller, targetId));
  }

  @Get('deliveries')
  attempts(@CallerParam() caller: Caller): z.output<typeof attemptJson>[] {
    return this.book
      .allAttempts(caller)
      .map(([targetId, attempt]) => toAttemptJson(targetId, attempt))
      .toSorted((a, b) => b.at_ms - a.at_ms);
  }
}
