import ArgumentParser
import Glibc
import KeyModule
import NativeSSO
import RegularFiles
import Registry
import StrictCoding

struct AuditVerifyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Check that no event of the audit was changed, removed or added since it was sealed.",
        discussion: """
            Brokers seal the audit each minute. This command computes every digest again, and compares the seals with their \
            tags and with the checkpoints that you kept outside the database. The exit status is 1 if something is changed \
            or missing; the first such range is named first.

            Run it as the broker's user, which can read the keys.
            """)

    @Option(help: ArgumentHelp("Only seals from this time on. By default all.", valueName: "when"))
    var from: Moment?

    @Option(
        help: ArgumentHelp(
            "Checkpoints to compare with: lines of `audit checkpoint`, or `audit sealed` of the broker's log.",
            valueName: "file"))
    var checkpoints: String?

    @Flag(
        help:
            "Do not check the tags, which needs the keys. Then only checkpoints can show what the database's owner did."
    )
    var withoutKeys = false

    @OptionGroup var options: GlobalOptions

    func run() async throws {
        let known = try checkpoints.map { try AuditCheckpoint.read(file: $0) } ?? []
        let keys: Configuration.Keys? = try withoutKeys ? nil : options.read { $0.keys() }
        let provider = try keys?.provider()
        let now = SystemClock().now
        let report = try await Progress.showing("seals") {
            try await options.administer(patience: .seconds(600)) { registry in
                let ring = KeyRing()
                if let keys, let provider {
                    let usable = await KeySet(try await registry.keys().records, of: keys.replica, from: provider)
                    guard !usable.missing.contains(.device) else {
                        throw CommandFailure.infrastructure(
                            "the device key cannot be used here, so the tags cannot be checked: "
                                + (usable.problems.first { $0.use == .device }?.explanation ?? "there is none")
                                + "; run this as the broker's user, or add --without-keys")
                    }
                    _ = ring.adopt(usable)
                }
                return try await registry.verifyAudit(
                    from: from.map { $0.instant(now) }, checkpoints: known,
                    authenticator: provider == nil ? nil : ring, at: now, progress: Progress.add)
            }
        }
        try options.output.show(AuditVerificationReport(verification: report))
        options.output.warn(report.doubts)
        if let first = report.findings.first {
            throw CommandFailure.refused("the audit is not as it was sealed: \(first)")
        }
    }
}

struct AuditCheckpointCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "checkpoint",
        abstract: "Print the newest seal of the audit as a JSON line, to be kept outside the database.",
        discussion: "The log of the brokers has every seal too: the event `audit sealed`.")

    @OptionGroup var options: GlobalOptions

    func run() async throws {
        guard let seal = try await options.administer({ try await $0.lastSeal() }) else {
            throw CommandFailure.notFound("the audit has no seal yet: brokers make one each minute")
        }
        // As the event `audit sealed` of the log.
        let checkpoint: Record = [
            "seal": .number(seal.number), "sealed_at": .instant(seal.sealedAt), "events": .number(seal.events),
            "chain": .text(Hexadecimal.encode(seal.chain)),
        ]
        try CommandOutput(format: .json).show(checkpoint)
    }
}

private struct AuditVerificationReport: ObjectResult {
    let verification: AuditVerification

    private var record: Record {
        [
            "seals": .number(verification.seals), "events": .number(verification.events),
            "unsealed": .number(verification.unsealed), "sealed_at": Cell(verification.last?.sealedAt),
            "last_seal": verification.last.map { .number($0.number) } ?? .none,
            "last_tagged": verification.lastTagged.map { .number($0) } ?? .none,
            "last_checkpoint": verification.checkpoint.map { .number($0) } ?? .none,
            "removed_months": .list(verification.removed.map(\.month)),
        ]
    }

    /// Enough to see what it is about.
    private static let most = 20

    var lines: [String] {
        let rest = verification.findings.count - Self.most
        return record.lines + verification.findings.prefix(Self.most) + (rest > 0 ? ["… and \(rest) more"] : [])
            + (verification.findings.isEmpty ? [verdict] : [])
    }

    private var verdict: String {
        guard verification.seals > 0 else { return "nothing is sealed yet: brokers seal the audit each minute" }
        let rest = verification.unsealed
        return "no sealed event was changed, removed or added"
            + (rest == 0
                ? "" : "; \(rest.counted("event")) since the last seal \(rest == 1 ? "waits" : "wait") for the next")
    }

    func members(to json: inout JSONWriter) {
        record.members(to: &json)
        json.member("findings", verification.findings)
        json.member("doubts", verification.doubts)
    }
}

extension AuditCheckpoint {
    /// In octets. A year of seals is a tenth of it.
    private static let longestFile = 512 << 20

    /// JSON lines with `seal` and `chain`. Other lines of a log are passed over.
    fileprivate static func read(file: String) throws(CommandFailure) -> [AuditCheckpoint] {
        let octets: [UInt8]
        do throws(RegularFile.Failure) {
            octets = try RegularFile.read(file, limit: longestFile).octets
        } catch {
            throw .usage("the file of --checkpoints cannot be read: \(file): \(error)")
        }
        let found = octets.split(separator: UInt8(ascii: "\n")).compactMap { line -> AuditCheckpoint? in
            guard let object = try? JSONReader.parse(line).object,
                let number = object.number("seal")?.int64,
                let chain = object.string("chain").flatMap({ Hexadecimal.decode($0) })
            else { return nil }
            return AuditCheckpoint(number: number, chain: chain)
        }
        guard !found.isEmpty else {
            throw .usage("the file of --checkpoints has no line with `seal` and `chain`: \(file)")
        }
        return found
    }
}
