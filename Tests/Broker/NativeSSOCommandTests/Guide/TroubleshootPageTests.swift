import BrokerHTTP
import NativeSSO
import Testing

@testable import native_sso

extension GuidePageTests {
    @Test func troubleshoot() throws {
        var text = ""
        for (title, kind) in Self.kinds {
            var seen: Set<String> = []
            let rows = RefusalRow.all.filter { $0.kind == kind && seen.insert($0.row.reason).inserted }.map(\.row)
            text += "## \(title)\n\n"
            for row in rows.sorted(by: { $0.reason < $1.reason }) {
                text += Self.entry(row.reason, row.cause, row.remedy)
            }
        }
        text +=
            "## `fault` in the log, with `idp_answer_unusable`\n\n"
            + "A fault `subject_token_…` is a defect of the id_token: see [exchange](#exchange).\n\n"
        for row in RefusalRow.answerFaults.sorted(by: { $0.reason < $1.reason }) {
            text += Self.entry(row.reason, row.cause, row.remedy)
        }
        text += "## Tokens of a relayed code that no app received\n\n"
        for outcome in RevocationOutcome.allCases.sorted(by: { $0.rawValue < $1.rawValue }) {
            text += Self.entry(outcome.rawValue, outcome.explanation.cause, outcome.explanation.remedy)
        }
        try GuidePage(name: "troubleshoot.md").expect(text)
    }

    /// In the order in which the broker decides.
    private static let kinds: [(String, AuditEvent.Kind?)] = [
        ("HTTP", nil), ("Every request: form, client, DPoP proof, limits", .requestRefused),
        ("Exchange", .exchangeRefused), ("Enrolment and authorization codes", .enrolmentRefused),
        ("Hand-off to a web app", .handoffRefused), ("Refresh", .refreshRefused),
        ("Back-channel logout", .logoutRefused),
    ]

    @Test func everyReasonIsOnThePage() {
        let kinds = Self.kinds.map(\.1)
        #expect(RefusalRow.all.allSatisfy { kinds.contains($0.kind) })
    }

    private static func entry(_ reason: String, _ cause: String, _ remedy: String) -> String {
        "### `\(reason)`\n\n**Cause:** \(cause).\n**Remedy:** \(remedy)\n\n"
    }
}
