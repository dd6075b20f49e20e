@testable import BrokerHTTP
import NativeSSO
import OAuthWire
import Testing

@Suite("Every refusal has its words")
struct RefusalExplanationTests {
    @Test("The reason that log and audit have leads to them")
    func found() {
        for refusal in RefusalTableTests.all {
            #expect(
                RefusalExplanation(reason: refusal.reason, of: refusal.auditKind) == refusal.explanation,
                "\(refusal.reason)")
        }
        #expect(RefusalExplanation(reason: "no_such_reason", of: nil) == nil)
        #expect(RefusalExplanation(reason: "", of: .requestRefused) == nil)
    }

    /// A logout may be refused for its form, under a kind of its own.
    @Test("A reason of another kind is found all the same")
    func ofAnotherKind() {
        #expect(
            RefusalExplanation(reason: "form_duplicate_parameter", of: .logoutRefused)
                == FormError.duplicateParameter.explanation)
        #expect(
            RefusalExplanation(reason: "client_disabled", of: .refreshRefused)
                == RefreshRefusal.clientDisabled.explanation)
        #expect(
            RefusalExplanation(reason: "client_disabled", of: .requestRefused) == ClientRefusal.disabled.explanation)
    }

    @Test("A cause is a clause and a remedy is made of sentences, each long enough to say something")
    func texts() {
        for refusal in RefusalTableTests.all {
            let explanation = refusal.explanation
            #expect(explanation.cause.utf8.count >= 15 && !explanation.cause.hasSuffix("."), "\(refusal.reason)")
            #expect(
                explanation.cause.first?.isUppercase == false || explanation.cause.hasPrefix("DPoP"),
                "\(refusal.reason)")
            #expect(explanation.remedy.hasSuffix(".") && explanation.remedy.utf8.count >= 8, "\(refusal.reason)")
        }
    }
}
