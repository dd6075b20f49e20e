import NativeSSO

extension Configuration {
    /// `sessions`: how long a login on a device may be used.
    struct Sessions: Sendable, Hashable {
        /// From its beginning, however often it is used.
        let absolute: Seconds
        /// Between two uses.
        let idle: Seconds
        /// Since `iat` of the id_token that is presented, for issuers that say nothing else.
        let maximumSubjectTokenAge: Seconds

        /// What a subject token's age may be set to, here and per issuer.
        static let subjectTokenAges: ClosedRange<Seconds> = 60 ... .days(90)

        init(reading section: Section) {
            let bounds = (section.isDevelopment ? 1 : .hours(1))...Seconds.days(400)
            absolute = section.duration("absolute", default: .days(90), in: bounds)
            // Where only `absolute` is given and is short, the default of `idle` follows it.
            idle = section.duration("idle", default: min(.days(30), absolute), in: bounds)
            maximumSubjectTokenAge = section.duration(
                "subject_token_max_age", default: .days(90), in: Self.subjectTokenAges)
            if section.isSound, idle > absolute {
                section.report("idle", "must not be longer than sessions.absolute, \(DurationText.format(absolute))")
            }
        }
    }

    /// `tokens`: the spans of what the broker issues.
    struct Tokens: Sendable, Hashable {
        /// `expires_in` of an access token. A session that ends leaves its last one usable for this long.
        let access: Seconds
        /// How long a lost refresh answer may be asked for again where the client authenticates.
        let refreshGrace: Seconds
        /// The same where it does not.
        let unboundRefreshGrace: Seconds

        init(reading section: Section) {
            access = section.duration("access", default: .minutes(5), in: 10 ... .hours(24))
            refreshGrace = section.duration("refresh_grace", default: 60, in: 0 ... .minutes(10))
            unboundRefreshGrace = section.duration("unbound_refresh_grace", default: 10, in: 0 ... .minutes(10))
            for (key, value) in [("refresh_grace", refreshGrace), ("unbound_refresh_grace", unboundRefreshGrace)]
            where value == 0 {
                section.warn(
                    key, "0: of two refreshes at once, or where an answer was lost, the login is lost as a theft")
            }
        }
    }
}
