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
    }
}

extension Configuration.Sessions {
    init?(reading section: Section, isDevelopment: Bool) {
        let shortest: Seconds = isDevelopment ? 1 : .hours(1)
        let absolute = section.duration("absolute", default: .days(90), in: shortest ... .days(400))
        // Where only `absolute` is given and is short, the default of `idle` follows it.
        let idle = section.duration(
            "idle", default: min(.days(30), absolute ?? .days(30)), in: shortest ... .days(400))
        let age = section.duration("subject_token_max_age", default: .days(90), in: Self.subjectTokenAges)
        guard let absolute, let idle, let age else { return nil }
        if idle > absolute {
            section.report("idle", "must not be longer than sessions.absolute, \(DurationText.format(absolute))")
        }
        self.init(absolute: absolute, idle: idle, maximumSubjectTokenAge: age)
    }
}
