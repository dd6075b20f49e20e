import ArgumentParser
import NativeSSO
import Registry
import StrictCoding

/// Why something is changed.
struct ReasonOption: ParsableArguments {
    @Option(help: "Why, for the audit.")
    var reason: String?

    mutating func validate() throws {
        if let reason, reason.isEmpty || reason.utf8.count > 1000 {
            throw ValidationError("--reason is from 1 to 1000 octets long.")
        }
    }
}

/// Of commands that destroy something: without `--execute` they say what they would do, and do nothing.
struct ExecutionOptions: ParsableArguments {
    @Flag(help: "Do it. Without this, only show what would be done.")
    var execute = false

    @OptionGroup var why: ReasonOption

    mutating func validate() throws {
        if execute, why.reason == nil { throw ValidationError("--execute needs --reason, for the audit.") }
    }

    /// Shows `plan`, and carries it out if that was asked for.
    func carryOut(
        _ plan: Plan, _ options: GlobalOptions,
        _ body: (AdministrativeAct) async throws(CommandFailure) -> Void
    ) async throws(CommandFailure) {
        guard execute else {
            try options.output.show(plan)
            return
        }
        let act = options.act(reason: why.reason)
        try await body(act)
        try options.output.show(plan.done(by: act))
    }
}

/// What a destructive command would do, or has done.
struct Plan: CommandResult {
    /// Such as `remove client app2`.
    let action: String
    /// What else goes with it.
    let consequences: [String]
    /// Under which it is in the audit, once it is done.
    private var requestID: UniqueID?

    init(_ action: String, consequences: [String] = []) {
        self.action = action
        self.consequences = consequences
    }

    /// One that is carried out batch by batch: `verb` so many of `noun`, of which the first twenty are named.
    init(_ verb: String, _ noun: String, _ found: [String], isMore: Bool) {
        let shown = found.prefix(20)
        let orMore = isMore ? " or more" : ""
        let rest = found.count > shown.count ? ["… and \(found.count - shown.count)\(orMore) others"] : []
        self.init("\(verb) \(found.count)\(orMore) \(noun)\(found.count == 1 ? "" : "s")", consequences: shown + rest)
    }

    func done(by act: AdministrativeAct) -> Plan {
        var done = self
        done.requestID = act.requestID
        return done
    }
}

extension Plan {
    var lines: [String] {
        [requestID == nil ? "would \(action)" : "done: \(action)"] + consequences.map { "  \($0)" }
            + [
                requestID.map { "In the audit: native-sso explain \($0)" }
                    ?? "Nothing was changed. Add --execute and --reason to do it."
            ]
    }

    func write(to json: inout JSONWriter) {
        json.object { json in
            json.member("action", action)
            json.member("consequences", consequences)
            json.member("executed", requestID != nil)
            if let requestID { json.member("request_id", requestID.description) }
        }
    }
}
