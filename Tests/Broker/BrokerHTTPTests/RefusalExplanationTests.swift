@testable import BrokerHTTP
import NativeSSO
import OAuthWire
import Testing

@Suite("Every refusal has an explanation")
struct RefusalExplanationTests {
    @Test("The logged reason finds the explanation")
    func found() {
        for refusal in RefusalTableTests.all {
            let row = RefusalRow.of(refusal.reason, in: refusal.auditKind(of: .none))
            #expect(row?.cause == refusal.row.cause && row?.remedy == refusal.row.remedy, "\(refusal.reason)")
        }
        #expect(RefusalRow.of("no_such_reason", in: nil) == nil)
        #expect(RefusalRow.of("", in: .requestRefused) == nil)
    }

    /// A logout can be refused for its form, with its own audit kind.
    @Test("Reasons of all kinds are found")
    func ofAnotherKind() {
        for (reason, kind, row) in [
            ("form_duplicate_parameter", AuditEvent.Kind.logoutRefused, FormError.duplicateParameter.row),
            ("client_disabled", .refreshRefused, RefreshRefusal.clientDisabled.row),
            ("client_disabled", .requestRefused, ClientRefusal.disabled.row),
            ("scope_empty", .exchangeRefused, ExchangeRefusal.scopeEmpty.row),
            ("scope_empty", .refreshRefused, RefreshRefusal.scopeEmpty.row),
        ] {
            #expect(RefusalRow.of(reason, in: kind)?.cause == row.cause)
        }
    }

    @Test("Within one kind, each rule has its own reason")
    func distinct() {
        func expectDistinct<Kind: RefusalCase>(_ kind: Kind.Type) {
            #expect(Set(kind.allCases.map(\.row.reason)).count == kind.allCases.count, "\(kind)")
        }
        expectDistinct(ExchangeRefusal.self)
        expectDistinct(EnrolmentRefusal.self)
        expectDistinct(RefreshRefusal.self)
    }

    @Test("Causes are clauses and remedies are sentences of a minimum length")
    func texts() {
        for row in RefusalRow.all.map(\.row) + RefusalRow.answerFaults {
            #expect(row.cause.utf8.count >= 15 && !row.cause.hasSuffix("."), "\(row.reason)")
            #expect(row.cause.first?.isUppercase == false || row.cause.hasPrefix("DPoP"), "\(row.reason)")
            #expect(row.remedy.hasSuffix(".") && row.remedy.utf8.count >= 8, "\(row.reason)")
        }
    }
}
