import StrictCoding

/// The outcome of one check of `doctor`.
struct Finding: Sendable, Hashable {
    enum State: String, Sendable {
        case ok
        /// It works, and may not do so for long, or not for everybody.
        case warning
        case failed
    }

    /// Such as `database.clock`. Published names stay.
    let check: String
    let state: State
    /// What is the case.
    let seen: String
    let expected: String
    /// What to do; `nil` if nothing.
    let remedy: String?

    /// - Parameter severity: If it is not fine.
    init(
        _ check: String, _ isFine: Bool, _ severity: State = .failed, seen: String, expected: String, remedy: String
    ) {
        self.check = check
        self.seen = seen
        self.expected = expected
        state = isFine ? .ok : severity
        self.remedy = isFine ? nil : remedy
    }

    /// One for each problem; without problems, that it is as expected.
    static func each(_ check: String, _ problems: [String], expected: String, remedy: String) -> [Finding] {
        guard !problems.isEmpty else {
            return [Finding(check, true, seen: expected, expected: expected, remedy: remedy)]
        }
        return problems.map { Finding(check, false, seen: $0, expected: expected, remedy: remedy) }
    }
}

/// Everything that `doctor` found.
struct DoctorReport: ObjectResult {
    let findings: [Finding]

    func count(_ state: Finding.State) -> Int { findings.count { $0.state == state } }

    /// Such as `2 checks failed, 1 warning`; `nil` if everything is fine.
    var complaint: String? {
        let (failed, warnings) = (count(.failed), count(.warning))
        let parts = [
            failed == 0 ? nil : "\(failed.counted("check")) failed",
            warnings == 0 ? nil : warnings.counted("warning"),
        ].compactMap(\.self)
        return parts.isEmpty ? nil : parts.joined(separator: ", ")
    }

    var lines: [String] {
        let width = findings.map(\.check.count).max() ?? 0
        return findings.flatMap { finding in
            let name = finding.check + String(repeating: " ", count: width - finding.check.count)
            let state = finding.state == .failed ? "FAILED " : finding.state == .warning ? "warning" : "ok     "
            return ["\(state)  \(name)  \(finding.seen)"]
                + (finding.remedy.map { ["         expected: \(finding.expected)", "         do: \($0)"] } ?? [])
        }
    }

    func members(to json: inout JSONWriter) {
        json.member("failed", Int64(count(.failed)))
        json.member("warnings", Int64(count(.warning)))
        json.array("findings", of: findings) { finding, json in
            json.member("check", finding.check)
            json.member("state", finding.state.rawValue)
            json.member("seen", finding.seen)
            json.member("expected", finding.expected)
            Cell(finding.remedy).write(as: "remedy", to: &json)
        }
    }
}
