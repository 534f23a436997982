/** Nights on which the wall clock of a zone jumps, by the date in the zone and the hour near which it does. */
export const clockJumps: readonly (readonly [timeZone: string, date: string, hour: number])[] = [
  ['America/New_York', '2026-03-08', 2], ['America/New_York', '2026-11-01', 1], ['America/Los_Angeles', '2030-11-03', 1],
  ['Europe/Berlin', '2027-03-28', 2], ['Europe/Berlin', '2026-10-25', 2], ['Europe/London', '2026-03-29', 1], ['Europe/London', '2026-10-25', 1],
  ['Europe/Dublin', '2026-03-29', 1], ['Europe/Dublin', '2026-10-25', 1], // winter time is the negative one
  ['Africa/Casablanca', '2026-02-15', 2], ['Africa/Casablanca', '2026-03-22', 2], // back for Ramadan only
  ['Australia/Lord_Howe', '2026-04-05', 1], ['Australia/Lord_Howe', '2026-10-04', 2], // 30 minutes
  ['Antarctica/Troll', '2026-03-29', 1], ['Antarctica/Troll', '2026-10-25', 1], // 2 hours
  ['Pacific/Apia', '2011-12-30', 12], ['Pacific/Apia', '2011-09-24', 3], ['Pacific/Kwajalein', '1993-08-21', 12], ['Pacific/Kiritimati', '1994-12-31', 12], // a missing day
  ['America/Sao_Paulo', '2018-11-04', 0], ['America/Sao_Paulo', '2018-02-17', 23], ['America/Asuncion', '2024-10-06', 0], ['America/Asuncion', '2024-03-23', 23],
  ['America/Havana', '2026-03-08', 0], ['America/Havana', '2026-11-01', 0], ['Africa/Cairo', '2026-04-24', 0], ['Africa/Cairo', '2026-10-29', 23],
  ['Asia/Beirut', '2026-03-29', 0], ['Asia/Beirut', '2026-10-24', 23], ['Asia/Amman', '2021-03-26', 0], ['Asia/Amman', '2021-10-29', 0], // about midnight
  ['America/St_Johns', '2010-03-14', 0], ['America/St_Johns', '2010-11-07', 0], ['America/St_Johns', '2026-03-08', 2], ['America/St_Johns', '2026-11-01', 1],
  ['Pacific/Chatham', '2026-04-05', 3], ['Pacific/Chatham', '2026-09-27', 2], ['Asia/Kathmandu', '1986-01-01', 0], // 12:45, and 15 minutes
  ['America/Caracas', '2007-12-09', 3], ['America/Caracas', '2016-05-01', 2], ['Asia/Pyongyang', '2015-08-15', 0], ['Asia/Pyongyang', '2018-05-04', 23],
  ['Atlantic/Azores', '2026-10-25', 0], ['Atlantic/Azores', '2026-03-29', 0], ['America/Scoresbysund', '2023-03-26', 0], ['America/Scoresbysund', '2022-10-30', 0], ['America/Nuuk', '2023-03-25', 22],
  ['Antarctica/Vostok', '2023-12-18', 2], ['Antarctica/Casey', '2020-10-04', 0], ['Europe/Volgograd', '2018-10-28', 2], ['Europe/Volgograd', '2020-12-27', 1],
  ['Asia/Damascus', '2022-03-25', 0], ['America/Mexico_City', '2022-10-30', 1], ['Pacific/Norfolk', '2015-10-04', 2], ['America/Fort_Nelson', '2015-03-08', 2],
  ['Asia/Gaza', '2026-03-28', 2], ['Asia/Gaza', '2026-10-24', 1], ['Asia/Hebron', '2026-03-28', 2], ['America/Santiago', '2026-04-04', 23], ['America/Santiago', '2026-09-06', 0],
  ['UTC', '2026-06-01', 0], ['Asia/Kolkata', '2026-06-01', 0],
]
