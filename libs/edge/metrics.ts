import { Injectable } from '@nestjs/common';
import type { Metric } from '#model';

/** All that this process measures of itself. Each part adds its own. */
@Injectable()
export class Metrics {
  readonly all: Metric[] = [];

  add(...metrics: readonly Metric[]): void {
    this.all.push(...metrics);
  }
}
