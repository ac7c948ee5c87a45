import { Controller, Get } from '@nestjs/common';
import { Access, CallerParam } from '#edge';
import type { Caller } from '#model';

@Controller('api/auth')
@Access({ payment: false })
export class AuthController {
  /** Whose key it is and what it may do. */
  @Get('verify-key')
  verify(@CallerParam() { orgId, scopes, bound }: Caller): unknown {
    return { org_id: orgId, scopes, ...(bound && { sources: bound.patterns }) };
  }
}
