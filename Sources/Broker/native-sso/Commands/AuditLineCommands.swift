import ArgumentParser
import NativeSSO
import PostgresClient
import Registry
import StrictCoding

struct AuditExportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export", abstract: "Print events as JSON lines, the oldest first.",
        discussion: """
            It reads the audit in short slices of time, so it may run while brokers serve.

            With --follow it goes on with each event as it is recorded, until SIGTERM or SIGINT. It begins with the \
            oldest event of the audit, or after a position. Each line has its position. An event may come twice. A \
            line with the member `gap` says where events may be missing or come again. A member of the database role \
            native_sso_audit may follow, and needs no other role.
            """)

    @OptionGroup var filter: AuditFilter

    @Flag(help: "Follow the whole audit, as a copy of it elsewhere needs. Takes no filter.")
    var follow = false

    @Option(
        help: ArgumentHelp(
            "With --follow: go on after this position, that of the last line you have.", valueName: "position"))
    var after: AuditMark?

    @Option(
        help: ArgumentHelp(
            "With --follow: keep the position in this file, and go on from there. The file need not exist.",
            valueName: "file"))
    var position: String?

    @OptionGroup var options: GlobalOptions

    mutating func validate() throws {
        guard follow || after == nil && position == nil else {
            throw ValidationError("--after and --position need --follow.")
        }
        guard after == nil || position == nil else { throw ValidationError("Give --after or --position, not both.") }
        guard !follow || filter.isEmpty else { throw ValidationError("--follow takes no filter.") }
    }

    func run() async throws {
        guard follow else { return try await AuditLines(filter: filter, options: options).print() }
        let file = position.map { AuditPositionFile(path: $0) }
        try await AuditFollowing(
            options.read { $0.database() }, options.output, start: after ?? file?.read(), file: file
        ).run()
    }
}

struct AuditSearchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "search", abstract: "Print the events that contain a text as JSON lines, the oldest first.",
        discussion: """
            The text may be part of any field: an id, an app, a reason, an actor, a ticket in the words of an operator. \
            Users are not in the audit: find their sessions with `session list --sub`.
            """)

    @Argument(help: "The text, in lower or upper case.") var text: String
    @OptionGroup var filter: AuditFilter
    @OptionGroup var options: GlobalOptions

    mutating func validate() throws {
        guard !text.isEmpty else { throw ValidationError("Give a text that is not empty.") }
    }

    func run() async throws { try await AuditLines(filter: filter, text: text, options: options).print() }
}

struct AuditTailCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "tail", abstract: "Print events as JSON lines as they are recorded, until you stop it.",
        discussion: """
            Each event comes once, also if its transaction ended late. By default it begins now. With --from it prints the \
            events since then first.
            """)

    @OptionGroup var filter: AuditFilter
    @OptionGroup var options: GlobalOptions

    private static let pause: Duration = .seconds(1)

    mutating func validate() throws {
        guard filter.until == nil else { throw ValidationError("tail has no --until: use audit export.") }
    }

    func run() async throws {
        let lines = AuditLines(filter: filter, options: options)
        let resolved = try filter.resolved(options)
        try await options.administer { registry in
            var seen = try await registry.firstOpenTransaction()
            if filter.from != nil { try await lines.print(resolved, registry, before: seen) }
            while true {
                let open = try await registry.firstOpenTransaction()
                if open > seen {
                    var selection = try await resolved.selection(registry, at: SystemClock().now)
                    selection.from = nil
                    selection.transactions = seen..<open
                    try AuditLines.write(try await registry.auditInOrder(selection))
                    seen = open
                }
                try await Task.sleep(for: Self.pause)
            }
        }
    }
}

/// Events as JSON lines on standard output.
struct AuditLines {
    let filter: AuditFilter
    var text: String?
    let options: GlobalOptions

    /// What a slice should hold at least and at most.
    private static let fewest = 500
    private static let most = 5000

    func print() async throws {
        let resolved = try filter.resolved(options)
        try await options.administer { try await print(resolved, $0) }
    }

    /// - Parameter transaction: Leave out what this and later transactions recorded.
    func print(_ resolved: AuditFilter.Resolved, _ registry: Administration, before transaction: Int64? = nil)
        async throws
    {
        let now = SystemClock().now
        var selection = try await resolved.selection(registry, at: now)
        selection.text = text
        selection.transactions = transaction.map { 0..<$0 }
        // Events of brokers whose clock is ahead belong to it.
        let end = selection.until ?? PostgresTimestamp(microseconds: now.adding(.minutes(1)).seconds * 1_000_000)
        var start = selection.from ?? end
        var slice: Int64 = 60
        while start.microseconds < end.microseconds {
            let next = PostgresTimestamp(microseconds: min(start.microseconds + slice * 1_000_000, end.microseconds))
            (selection.from, selection.until) = (start, next)
            let records = try await registry.auditInOrder(selection)
            try Self.write(records)
            if records.count > Self.most { slice = max(slice / 2, 1) }
            if records.count < Self.fewest { slice = min(slice * 2, 86_400) }
            start = next
        }
    }

    static func write(_ records: [AuditRecord]) throws(CommandFailure) {
        try StandardStream.output.write(
            records.flatMap { record in CommandOutput.json { $0.object { record.members(to: &$0) } } })
    }
}
