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
        let live = try await options.administer {
            try await $0.sessions(selection, liveOnly: true, limit: Self.batch)
        }
        guard !live.isEmpty else { throw CommandFailure.notFound("no such session is live") }
        let found = live.map { session in
            "\(session.issuer) sid \(session.sessionID) of \(session.subject?.string ?? "an unknown user"), "
                + "\(session.liveGrants) live grants"
        }
        let plan = Plan("end", "session", found, isMore: live.count == Self.batch)
        // Batch by batch: what was ended before a failure stays ended.
        try await execution.carryOut(plan, options) { registry, act in
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
}
