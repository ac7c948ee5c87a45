import { Injectable } from '@nestjs/common';
import { alertsArea, Commands, Keyring, type Asking } from '#edge';
import { conditionOf, TelemetryError, type AlertCommand, type Caller } from '#model';
import { AlertBook, type NotedAlert } from './alert-book.js';

/** What people say of alerts. */
@Injectable()
export class AlertTalk {
  constructor(
    private readonly book: AlertBook,
    private readonly commands: Commands,
    private readonly keyring: Keyring,
  ) {}

  /**
   * The alert, with what was said of it.
   *
   * @param untilMs of a silence. Rejects `unknown_alert`, `too_many_alert_notes`, and as `Commands.carryOut` does.
   */
  async say(caller: Caller, alertId: string, does: AlertCommand['does'], untilMs: number | null): Promise<NotedAlert> {
    const found = this.book.find(caller, alertId);
    if (!found) throw new TelemetryError('unknown_alert', 'List the alerts with GET /api/alerts: none of them has this id.');
    const { orgId } = caller;
    const { sourceId, monitorId } = found.alert;
    const subject = { orgId, sourceId, monitorId, condition: conditionOf(found.alert) };
    const asking: Asking<AlertCommand> = { ...subject, by: this.keyring.actor(caller), alertId, does, untilMs };
    const { word } = await this.commands.carryOut(alertsArea, asking);
    if (word === 'too_many')
      throw new TelemetryError('too_many_alert_notes', 'Let some silence end first: 10,000 conditions are silenced.');
    return this.book.noted(orgId, found.alert);
  }
}
