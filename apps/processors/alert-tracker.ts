import { Inject, Injectable } from '@nestjs/common';
import { on, RECORD_LOG, Table, type Processor, type RecordLog } from '#log';
import { afterTransitions, type SourceAlerts } from '#model';
import { alerts, sourceAlerts, sourceAlertsGroup } from '#topics';

/** Keeps the alerts of each source that people ask for: those that are open, and the last that are not. */
@Injectable()
export class AlertTracker implements Processor {
  readonly group = sourceAlertsGroup;
  readonly table: Table<SourceAlerts>;
  readonly inputs = [
    on(alerts, async (records) => {
      for (const { key, value } of records) {
        const known = this.table.get(key);
        const next = value ? afterTransitions(known, value) : known;
        if (next && next !== known) this.table.set(key, next);
      }
      // Somebody may look at them now.
      await this.table.write();
    }),
  ];

  constructor(@Inject(RECORD_LOG) log: RecordLog) {
    this.table = new Table(log, sourceAlerts);
  }
}
