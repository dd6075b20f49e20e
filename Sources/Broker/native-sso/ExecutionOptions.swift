import ArgumentParser
import NativeSSO
import Registry
import StrictCoding

struct ReasonOption: ParsableArguments {
    @Option(help: "Reason, for the audit.")
    var reason: String?

    mutating func validate() throws {
        if let reason { try Self.check(reason) }
    }

    static func check(_ reason: String) throws {
        guard (1...1000).contains(reason.utf8.count) else {
            throw ValidationError("--reason is from 1 to 1000 octets long.")
        }
    }
}

/// Selects one identity provider.
struct IssuerOption: ParsableArguments {
    @Option(help: "The identity provider. Optional if the configuration has only one.")
    var issuer: Issuer?

    /// The given issuer, or else that of the only identity provider.
    func issuer(_ options: GlobalOptions) throws -> Issuer {
        if let issuer { return issuer }
        return try Self.only(of: options.read { $0.issuers() })
    }

    /// The issuer of the only identity provider.
    static func only(of configured: [Issuer]) throws(CommandFailure) -> Issuer {
        guard let only = configured.first, configured.count == 1 else {
            throw .usage(
                "--issuer is needed: the configuration has \(configured.isEmpty ? "no" : "several") identity providers")
        }
        return only
    }
}

/// Bounds a list.
struct LimitOption: ParsableArguments {
    @Option(help: "The greatest number of rows.")
    var limit: Int64 = 100

    mutating func validate() throws {
        guard (1...100_000).contains(limit) else { throw ValidationError("--limit is from 1 to 100000.") }
    }
}

/// Bounds and continues a list. A row has a position: an argument that says where the next page begins.
struct PageOptions<Position: ExpressibleByArgument & CustomStringConvertible>: ParsableArguments {
    @Option(help: ArgumentHelp("Continue a listing: `next` of the previous page.", valueName: "next"))
    var after: Position?

    @OptionGroup var bound: LimitOption

    var limit: Int64 { bound.limit }

    func page<Thing>(_ things: [Thing], position: (Thing) -> Position, _ table: Table) -> Page {
        Page(table: table, next: next(after: things, position: position)?.description)
    }

    /// Where the next page begins; `nil`: this is the last page.
    /// - Parameter things: At most ``limit``.
    func next<Thing>(after things: [Thing], position: (Thing) -> Position) -> Position? {
        things.count == Int(limit) ? things.last.map(position) : nil
    }
}

/// For commands that destroy something. Without `--execute` they only show what they would change.
struct ExecutionOptions: ParsableArguments {
    @Flag(help: "Carry it out. Without this flag, only show what would change.")
    var execute = false

    @OptionGroup var why: ReasonOption

    mutating func validate() throws {
        if execute, why.reason == nil { throw ValidationError("--execute needs --reason, for the audit.") }
    }

    /// Shows `plan`. With `--execute`, carries it out first.
    /// - Parameter id: Of an act that it goes on with; `nil`: a new one.
    func carryOut(
        _ plan: Plan, _ options: GlobalOptions, as id: UniqueID? = nil,
        _ body: (Administration, AdministrativeAct) async throws -> Void
    ) async throws {
        guard execute else { return try options.output.show(plan) }
        let act = options.act(why, id)
        try await Progress.showing(plan.action) {
            try await options.administer { try await body($0, act) }
        }
        try options.output.show(plan.done(by: act))
    }
}

extension ExecutionOptions {
    /// Makes a change to the registry at once if it touches no live grant, and with `--execute` only otherwise.
    /// - Parameter result: Shown after a change that was made at once.
    func carryOut(
        _ plan: Plan, touching impact: RegistryImpact, _ options: GlobalOptions, showing result: some CommandResult,
        _ body: (Administration, AdministrativeAct) async throws -> Void
    ) async throws {
        guard !execute, impact.touchesNoGrant else { return try await carryOut(plan, options, body) }
        let act = options.act(why)
        try await options.administer { try await body($0, act) }
        try options.output.show(result)
    }
}

/// The changes that a destructive command would make, or has made.
struct Plan: ObjectResult {
    /// For example `remove client app2`.
    let action: String
    let consequences: [String]
    /// `false`: there is nothing to carry out yet.
    let isDue: Bool
    /// Names the change in the audit; `nil` before the change.
    private var requestID: UniqueID?

    init(_ action: String, consequences: [String] = [], isDue: Bool = true) {
        self.action = action
        self.consequences = consequences
        self.isDue = isDue
    }

    /// A plan for many things: `verb` and the number of `noun`. Names the first twenty.
    init(_ verb: String, _ noun: String, _ found: [String], isMore: Bool) {
        let shown = found.prefix(20)
        func counted(_ count: Int, _ noun: String) -> String {
            isMore ? "\(count.grouped) or more \(noun)s" : count.counted(noun)
        }
        let rest = found.count - shown.count
        self.init(
            "\(verb) \(counted(found.count, noun))",
            consequences: shown + (rest > 0 ? ["… and \(counted(rest, "other"))"] : []))
    }

    func done(by act: AdministrativeAct) -> Plan {
        var done = self
        done.requestID = act.requestID
        return done
    }

    var lines: [String] {
        [requestID == nil ? "would \(action)" : "done: \(action)"] + consequences.map { "  \($0)" }
            + [
                requestID.map { "In the audit: native-sso explain \($0)" }
                    ?? (isDue
                        ? "Nothing was changed. Add --execute and --reason to do it." : "Nothing is to be done now.")
            ]
    }

    func members(to json: inout JSONWriter) {
        json.member("action", action)
        json.member("consequences", consequences)
        json.member("executed", requestID != nil)
        if let requestID { json.member("request_id", requestID.description) }
    }
}
