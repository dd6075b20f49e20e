import ArgumentParser
import FoundationEssentials
import NativeSSO
import PostgresClient
package import Registry
import StrictCoding

struct AuditCommand: CommandGroup {
    static let configuration = CommandConfiguration(
        commandName: "audit", abstract: "Search the audit: grants, refusals and administrative changes.",
        subcommands: [
            AuditListCommand.self, AuditSearchCommand.self, AuditExportCommand.self, AuditTailCommand.self,
        ])
}

struct AuditListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List events, the newest first.",
        discussion: "To read the events of one request in words: native-sso explain ID.")

    @OptionGroup var filter: AuditFilter

    @OptionGroup var page: PageOptions<AuditRecord.Position>
    @OptionGroup var options: GlobalOptions

    func run() async throws {
        let filter = try filter.resolved(options)
        let records = try await options.administer { registry in
            let selection = try await filter.selection(registry, at: SystemClock().now)
            return try await registry.audit(selection, limit: page.limit, before: page.after)
        }
        try options.output.show(AuditListing(records: records, next: page.next(after: records, position: \.position)))
    }
}

/// Selects events.
struct AuditFilter: ParsableArguments, Sendable {
    @Option(
        help: ArgumentHelp(
            "Events from this time on: 2026-11-22T07:30:00Z, or 2h for two hours ago. By default 24h.",
            valueName: "when"))
    var from: Moment?

    @Option(help: ArgumentHelp("Events before this time. By default now.", valueName: "when"))
    var until: Moment?

    @Option(help: "Only events of this kind, such as exchange_refused.")
    var kind: AuditKind?

    @Option(help: "Only events of this app.")
    var client: ClientID?

    @Option(help: "Only events of this session, by its session_id.")
    var session: UniqueID?

    @OptionGroup var provider: IssuerOption

    @Option(parsing: .unconditional, help: "Only events of the sessions of this name: see `session list`.")
    var sid: SessionID?

    mutating func validate() throws {
        guard session == nil || sid == nil else { throw ValidationError("Give --session or --sid, not both.") }
        guard provider.issuer == nil || sid != nil else { throw ValidationError("--issuer needs --sid.") }
    }

    /// Whether it selects as no option does.
    var isEmpty: Bool {
        from == nil && until == nil && kind == nil && client == nil && session == nil && sid == nil
    }

    /// Reads the configuration, if the filter needs the issuer of a `sid`.
    func resolved(_ options: GlobalOptions) throws -> Resolved {
        Resolved(filter: self, session: try sid.map { ($0, try provider.issuer(options)) })
    }

    struct Resolved: Sendable {
        let filter: AuditFilter
        fileprivate let session: (sid: SessionID, issuer: Issuer)?

        /// Looks for the sessions of the name.
        func selection(_ registry: Administration, at now: UnixTime) async throws -> AuditSelection {
            var selection = AuditSelection.all
            selection.from = (filter.from ?? .ago(.hours(24))).timestamp(now)
            selection.until = filter.until?.timestamp(now)
            selection.kind = filter.kind
            selection.client = filter.client
            selection.sessions = filter.session.map { [$0] }
            if let session {
                let found = try await registry.sessions(
                    .session(session.issuer, session.sid), liveOnly: false, limit: 1000)
                guard !found.isEmpty else { throw AdministrationError.notFound("this session") }
                selection.sessions = found.map(\.id)
            }
            return selection
        }
    }
}

/// A page of the audit.
struct AuditListing: ObjectResult {
    let records: [AuditRecord]
    /// `nil`: this is the last page.
    let next: AuditRecord.Position?

    var lines: [String] {
        let table = Table("events", records) {
            [
                "occurred_at": .instant($0.time), "kind": .text($0.kind), "reason": Cell($0.reason),
                "client_id": Cell($0.client?.string), "session_id": Cell($0.session?.description),
                "actor": Cell($0.actor), "request_id": Cell($0.requestID?.description),
            ]
        }
        return table.lines + (next.map { ["There may be more: --after \($0)"] } ?? [])
    }

    func members(to json: inout JSONWriter) {
        json.array("events", of: records) { $0.members(to: &$1) }
        Cell(next?.description).write(as: "next", to: &json)
    }
}

extension AuditRecord {
    /// As a listing and a line of an export have it.
    func members(to json: inout JSONWriter) {
        Cell(requestID?.description).write(as: "request_id", to: &json)
        shown.members(to: &json)
        // From a column of the type jsonb.
        json.member("details", raw: Array((details ?? "null").utf8))
    }
}

/// An instant on the command line.
enum Moment: ExpressibleByArgument {
    case instant(UnixTime)
    case ago(Seconds)

    /// `2026-11-22T07:30:00Z`, or `2h`.
    init?(argument: String) {
        if let span = Seconds(argument: argument) {
            guard span <= Self.longest else { return nil }
            self = .ago(span)
        } else if let date = try? Date(argument, strategy: .iso8601) {
            self = .instant(UnixTime(seconds: Int64(date.timeIntervalSince1970)))
        } else {
            return nil
        }
    }

    /// A hundred years: no audit is older.
    private static let longest = Seconds.days(36_525)

    func instant(_ now: UnixTime) -> UnixTime {
        switch self {
        case .instant(let instant): instant
        case .ago(let span): now.adding(Seconds(-span.count))
        }
    }

    func timestamp(_ now: UnixTime) -> PostgresTimestamp {
        PostgresTimestamp(microseconds: instant(now).seconds * 1_000_000)
    }
}

/// The end of a page of the audit, as text: four numbers with points between them.
extension AuditRecord.Position: ExpressibleByArgument, CustomStringConvertible {
    package init?(argument: String) {
        let parts = argument.split(separator: ".", omittingEmptySubsequences: false).map { Int64($0) }
        guard parts.count == 4, let microseconds = parts[0], let partition = parts[1], let block = parts[2],
            let place = parts[3], microseconds.magnitude < 1 << 58, (0...Int64(UInt32.max)).contains(partition),
            (0...Int64(UInt32.max)).contains(block), (0...Int64(UInt16.max)).contains(place)
        else { return nil }
        self.init(microseconds: microseconds, partition: partition, row: "(\(block),\(place))")
    }

    package var description: String {
        let row = row.filter { $0 != "(" && $0 != ")" }.replacing(",", with: ".")
        return "\(microseconds).\(partition).\(row)"
    }
}

/// The place of an event in a copy of the audit, as text: its transaction, a point, and its position.
extension AuditMark: ExpressibleByArgument, CustomStringConvertible {
    package init?(argument: String) {
        let parts = argument.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, let transaction = Int64(parts[0]), (0..<1 << 62).contains(transaction),
            let position = AuditRecord.Position(argument: String(parts[1]))
        else { return nil }
        self.init(transaction: transaction, position: position)
    }

    package var description: String { "\(transaction).\(position)" }
}
