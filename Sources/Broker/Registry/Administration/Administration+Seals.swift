package import NativeSSO
import PostgresClient
import StrictCoding

/// What `audit verify` found.
package struct AuditVerification: Sendable {
    package fileprivate(set) var seals: Int64 = 0
    package fileprivate(set) var events: Int64 = 0
    /// Events since the last seal.
    package fileprivate(set) var unsealed: Int64 = 0
    package fileprivate(set) var last: AuditSeal?
    /// The last seal that has a right tag.
    package fileprivate(set) var lastTagged: Int64?
    /// Months whose events retention removed, as `2026-10`, and how many events that were.
    package fileprivate(set) var removed: [(month: String, events: Int64)] = []
    /// The last checkpoint that the chain agrees with.
    package fileprivate(set) var checkpoint: Int64?
    /// What is changed or missing, in the order of the seals. Empty: nothing.
    package fileprivate(set) var findings: [String] = []
    /// What an operator should be able to explain.
    package fileprivate(set) var doubts: [String] = []
}

/// A seal that was kept outside the database.
package struct AuditCheckpoint: Sendable, Hashable {
    package let number: Int64
    package let chain: [UInt8]

    package init(number: Int64, chain: [UInt8]) {
        self.number = number
        self.chain = chain
    }
}

extension Administration {
    /// Computes every digest of the audit again, and compares it with the chain of seals, the seals with their tags, and the
    /// chain with what was kept of it elsewhere.
    /// - Parameters:
    ///   - first: Leave out the seals that were made before.
    ///   - authenticator: `nil`: do not look at tags.
    ///   - progress: Called with each batch: the number of its seals.
    package func verifyAudit(
        from first: UnixTime? = nil, checkpoints: [AuditCheckpoint] = [], authenticator: (any RecordAuthenticator)?,
        batch: Int64 = 50, at now: UnixTime, progress: (Int) -> Void = { _ in }
    ) async throws(AdministrationError) -> AuditVerification {
        var check = AuditCheck(
            checkpoints: Dictionary(checkpoints.map { ($0.number, $0) }) { first, _ in first })
        if let first {
            let before = try await rows(SealStatements.lastBefore, [.clamped(first)], CheckedSeal.init)
            check.start = before.first
        }
        while true {
            let seals = try await rows(
                SealStatements.check, [.int64(check.previous?.seal.number ?? 0), .int64(batch)], CheckedSeal.init)
            for seal in seals {
                var isTagged: Bool?
                if let authenticator, let tag = seal.seal.tag {
                    do throws(PortError) {
                        isTagged = ConstantTime.equal(try await seal.seal.expectedTag(authenticator), tag)
                    } catch {
                        throw .refused("the tags cannot be checked: \(error)")
                    }
                }
                check.look(at: seal, isTagged: isTagged, readsTags: authenticator != nil)
            }
            progress(seals.count)
            if seals.count < batch { break }
        }
        let counts = try await rows(
            SealStatements.count,
            [.int64(check.firstTransaction), .int64(check.previous?.untilTransaction ?? 0)]
        ) { (month: try $0.text(0), sealed: try $0.int64(1), unsealed: try $0.int64(2), future: try $0.int64(3)) }
        for count in counts { check.compare(count.month, sealed: count.sealed, unsealed: count.unsealed, count.future) }
        return check.conclude(at: now, readsTags: authenticator != nil)
    }

    /// The newest seal, which may be kept outside the database.
    package func lastSeal() async throws(AdministrationError) -> AuditSeal? {
        try await rows(SealStatements.since, [.null], AuditSeal.row).last
    }
}

/// A seal, and what its range holds now.
private struct CheckedSeal: Sendable {
    let seal: AuditSeal
    let month: String
    let fromTransaction: Int64
    let untilTransaction: Int64
    let isRemoval: Bool
    let follows: Bool
    let eventsNow: Int64
    let isUnchanged: Bool
    let isRemovedLater: Bool
    /// RFC 3339.
    let sealedAt: String
    /// Whether it is the removal of a month that retention must still keep.
    let isEarly: Bool

    init(_ row: Row) throws {
        seal = try AuditSeal.row(row)
        month = try row.text(5)
        (fromTransaction, untilTransaction) = (try row.int64(6), try row.int64(7))
        (isRemoval, follows) = (try row.bool(8), try row.bool(9))
        (eventsNow, isUnchanged) = (try row.int64(10), try row.bool(11))
        isRemovedLater = try row.bool(12)
        (sealedAt, isEarly) = (try row.text(13), try row.bool(14))
    }

    /// For a person who looks for the events.
    var name: String { "seal \(seal.number) (events of \(month) up to \(sealedAt))" }
}

private struct AuditCheck {
    let checkpoints: [Int64: AuditCheckpoint]
    /// The seal before the first one that is checked.
    var start: CheckedSeal? {
        didSet { previous = start }
    }
    private(set) var previous: CheckedSeal?
    private(set) var found = AuditVerification()
    private var sealed: [String: Int64] = [:]
    private var removed: Set<String> = []
    /// Retention may remove a month while this runs.
    private var changed: [(month: String, finding: String)] = []
    /// Seals without a tag since the last one that has one.
    private var untagged: (first: Int64, last: Int64)?

    /// In seconds: where nothing happens there is a seal every hour.
    private static let longestPause: Int64 = 3600 + 600

    init(checkpoints: [Int64: AuditCheckpoint]) { self.checkpoints = checkpoints }

    var firstTransaction: Int64 { start?.untilTransaction ?? 0 }

    mutating func look(at seal: CheckedSeal, isTagged: Bool?, readsTags: Bool) {
        let number = seal.seal.number
        let expected = (previous?.seal.number ?? 0) + 1
        if number != expected {
            found.findings.append(
                expected == number - 1
                    ? "seal \(expected) is missing" : "seals \(expected) to \(number - 1) are missing")
        } else if !seal.follows {
            found.findings.append(
                "\(seal.name) was changed: its chain does not follow from its columns and the seal before")
        }
        if number == expected, !seal.isRemoval, seal.fromTransaction != (previous?.untilTransaction ?? 0),
            seal.fromTransaction != previous?.fromTransaction
        {
            found.findings.append("\(seal.name) does not begin where the seal before it ends")
        }
        lookAtEvents(of: seal)
        if let previous, seal.seal.sealedAt.since(previous.seal.sealedAt).count > Self.longestPause {
            found.doubts.append(
                "nothing was sealed from \(previous.sealedAt) to \(seal.sealedAt): no broker ran, or seals were removed and "
                    + "made again")
        }
        lookAtTag(of: seal, isTagged, readsTags)
        if let checkpoint = checkpoints[number] {
            if checkpoint.chain == seal.seal.chain {
                found.checkpoint = number
                // What a checkpoint confirms needs no tag.
                untagged = nil
            } else {
                found.findings.append("\(seal.name) is not the one that was kept as a checkpoint")
            }
        }
        previous = seal
        found.seals += 1
        found.last = seal.seal
    }

    private mutating func lookAtEvents(of seal: CheckedSeal) {
        if seal.isRemoval {
            removed.insert(seal.month)
            found.removed.append((seal.month, seal.seal.events))
            if seal.isEarly {
                found.findings.append(
                    "the events of \(seal.month) were removed at \(seal.sealedAt), before retention may do so")
            }
        } else if !seal.isRemovedLater {
            sealed[seal.month, default: 0] += seal.eventsNow
            found.events += seal.eventsNow
            if !seal.isUnchanged {
                let difference = seal.eventsNow - seal.seal.events
                let what =
                    difference == 0
                    ? "an event was changed"
                    : "\(abs(difference)) event\(abs(difference) == 1 ? " is" : "s are") \(difference < 0 ? "missing" : "too many")"
                changed.append((seal.month, "\(seal.name): \(what)"))
            }
        }
    }

    private mutating func lookAtTag(of seal: CheckedSeal, _ isTagged: Bool?, _ readsTags: Bool) {
        guard readsTags else { return }
        switch isTagged {
        case true?:
            noteUntagged()
            found.lastTagged = seal.seal.number
        case false?: found.findings.append("\(seal.name) has a tag that no broker with these keys made")
        case nil: untagged = (untagged?.first ?? seal.seal.number, seal.seal.number)
        }
    }

    /// A broker that died before it could tag leaves one or two of these. An attacker who makes the chain anew leaves
    /// them too.
    private mutating func noteUntagged() {
        guard let (first, last) = untagged else { return }
        untagged = nil
        found.findings.append(
            (first == last ? "seal \(first) has" : "seals \(first) to \(last) have")
                + " no tag. If a broker was stopped at that time, confirm the chain by a later checkpoint (--checkpoints)"
        )
    }

    mutating func compare(_ month: String, sealed: Int64, unsealed: Int64, _ future: Int64) {
        found.unsealed += unsealed
        let expected = self.sealed[month] ?? 0
        if removed.contains(month), sealed > 0 {
            found.findings.append("\(sealed) events of \(month) are there, although retention removed that month")
        } else if !removed.contains(month), sealed > expected {
            found.findings.append("\(sealed - expected) events of \(month) lie in a sealed range, but no seal has them")
        }
        if future > 0 {
            found.findings.append("\(future) events of \(month) name transactions that have not happened yet")
        }
    }

    mutating func conclude(at now: UnixTime, readsTags: Bool) -> AuditVerification {
        if let previous, now.since(previous.seal.sealedAt).count > Self.longestPause {
            found.doubts.append(
                "the last seal is from \(previous.sealedAt): no broker runs, or a transaction is open for long "
                    + "(pg_stat_activity.backend_xmin)")
        }
        // A broker tags within seconds.
        if readsTags, let previous, now.since(previous.seal.sealedAt).count > 300 { noteUntagged() }
        found.findings = changed.filter { !removed.contains($0.month) }.map(\.finding) + found.findings
        for (number, _) in checkpoints where number > previous?.seal.number ?? 0 {
            found.findings.append(
                "seal \(number), which was kept as a checkpoint, is missing: the chain ends before it")
        }
        return found
    }
}
