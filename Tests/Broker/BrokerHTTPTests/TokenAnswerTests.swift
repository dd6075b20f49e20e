@testable import NativeSSO
import Testing

@testable import BrokerHTTP

@Suite("Bodies of granted tokens")
struct TokenAnswerTests {
    private func body(_ answer: TokenAnswer) -> String { String(decoding: answer.json, as: UTF8.self) }

    @Test("An exchange answer has fixed octets")
    func exchange() {
        let answer = TokenAnswer(
            accessToken: "AT", issued: .accessToken, expiresIn: 300, scope: "profile orders.read", refreshToken: "RT",
            idToken: "IDT")
        #expect(
            body(answer)
                == #"{"access_token":"AT","issued_token_type":"urn:ietf:params:oauth:token-type:access_token","#
                + #""token_type":"Bearer","expires_in":300,"scope":"profile orders.read","refresh_token":"RT","id_token":"IDT"}"#
        )
    }

    @Test("A refresh has no issued_token_type")
    func refresh() {
        let answer = TokenAnswer(accessToken: "AT", isBound: true, expiresIn: 300, scope: "a", refreshToken: "RT")
        #expect(
            body(answer)
                == #"{"access_token":"AT","token_type":"DPoP","expires_in":300,"scope":"a","refresh_token":"RT"}"#)
    }

    @Test("An enrolment answer has fixed octets")
    func enrolment() {
        let answer = TokenAnswer(
            accessToken: "IDT", issued: .idToken, expiresIn: 300, scope: nil, idToken: "IDT", deviceSecret: "DS")
        #expect(
            body(answer)
                == #"{"access_token":"IDT","issued_token_type":"urn:ietf:params:oauth:token-type:id_token","#
                + #""token_type":"N_A","expires_in":300,"id_token":"IDT","device_secret":"DS"}"#)
    }
}
