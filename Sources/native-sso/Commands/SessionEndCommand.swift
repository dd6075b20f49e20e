import ArgumentParser
import NativeSSO
import Registry

/// `native-sso session end`
struct SessionEndCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "end", abstract: "End sessions: every app in them is refused from its next call on.")

    @OptionGroup var which: SessionSelectionOptions

    @Flag(help: "Every session of every user.")
    var all = false

    @Flag(
        help: """
            Let a new id_token of the same login begin a new session. Without it the user must log in again at the IdP. For \
            clean-ups, such as after the promotion of a standby.
            """)
    var sameLoginMayReturn = false

    @OptionGroup var execution: ExecutionOptions
    @OptionGroup var options: GlobalOptions

    /// How many are ended in one transaction.
    private static let batch: Int64 = 1000

    mutating func validate() throws {
        guard all == (which.count == 0) else {
            throw ValidationError("Say which sessions: --sid, --sub, --device, --client or --all.")
        }
    }

    func run() async throws {
        let selection = try which.selection(try options.configuration()) ?? .all
        let live = try await sessions(selection, limit: Self.batch)
        guard !live.isEmpty else { throw CommandFailure.notFound("no such session is live") }
        try await execution.carryOut(plan(live), options) { act throws(CommandFailure) in
            try await end(selection, act)
        }
    }

    private func plan(_ live: [SessionRecord]) -> Plan {
        let found = live.map { session in
            "\(session.issuer) sid \(session.sessionID) of \(session.subject?.string ?? "an unknown user"), "
                + "\(session.liveGrants) live grants"
        }
        return Plan("end", "session", found, isMore: live.count == Self.batch)
    }

    /// Batch by batch: what was ended before a failure stays ended.
    private func end(_ selection: SessionSelection, _ act: AdministrativeAct) async throws(CommandFailure) {
        try await options.administer { registry throws(AdministrationError) in
            var last: UniqueID?
            while true {
                let live = try await registry.sessions(selection, liveOnly: true, limit: Self.batch, before: last)
                _ = try await registry.end(
                    live.map(\.id), reason: "operator", sameLoginMayReturn: sameLoginMayReturn, act)
                guard live.count == Self.batch else { return }
                last = live.last?.id
            }
        }
    }

    private func sessions(
        _ selection: SessionSelection, limit: Int64
    ) async throws(CommandFailure) -> [SessionRecord] {
        try await options.administer { registry throws(AdministrationError) in
            try await registry.sessions(selection, liveOnly: true, limit: limit)
        }
    }
}
