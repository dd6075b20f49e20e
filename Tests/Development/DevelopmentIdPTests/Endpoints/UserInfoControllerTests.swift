import DevelopmentIdP
import HTTPTypes
import HummingbirdTesting
import NIOCore
import StrictCoding
import Testing

@Suite struct UserInfoControllerTests {
    @Test func theScopeDecidesWhatIsTold() async throws {
        try await TestProvider.run { provider in
            for (scope, name, email) in [
                ("openid", nil, nil), ("openid profile email", "Alice Example", "alice@example.test"),
            ] as [(String, String?, String?)] {
                let answer = try await provider.redeem(try await TestBrowser(provider).code(scope: scope))
                let headers: HTTPFields = [.authorization: "Bearer \(answer.accessToken ?? "")"]
                for method in [HTTPRequest.Method.get, .post] {
                    let response = try await provider.http.execute(uri: "/userinfo", method: method, headers: headers)
                    let json = try #require(try JSONReader.parse(response.body.readableBytesView).object)
                    #expect(json.string("sub") == "248289761001")
                    #expect(json.string("name") == name)
                    #expect(json.string("email") == email)
                }
            }
        }
    }

    @Test func anAccessTokenExpiresAMissingOneIsAskedForAndAWrongOneNamed() async throws {
        try await TestProvider.run { provider in
            let answer = try await provider.redeem(try await TestBrowser(provider).code())
            provider.clock.advance(by: 299)
            #expect(try await provider.opensUserInfo(answer.accessToken))
            provider.clock.advance(by: 1)
            #expect(try await !provider.opensUserInfo(answer.accessToken))
            let missing = try await provider.http.execute(uri: "/userinfo", method: .get)
            #expect(missing.status == .unauthorized)
            #expect(missing.headers[.wwwAuthenticate] == "Bearer realm=\"development-idp\"")
            let wrong = try await provider.http.execute(
                uri: "/userinfo", method: .get, headers: [.authorization: "Bearer x"])
            #expect(wrong.status == .unauthorized)
            #expect(wrong.headers[.wwwAuthenticate]?.contains("error=\"invalid_token\"") == true)
        }
    }
}
