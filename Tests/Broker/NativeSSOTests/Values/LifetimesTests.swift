@testable import NativeSSO
import Testing

@Suite struct LifetimesTests {
    @Test func theGraceDependsOnWhatBindsTheClient() {
        let lifetimes = Lifetimes()
        for authentication in Client.Authentication.allCases {
            let client = Client(
                id: ClientID(validated: "app"), authentication: authentication, allowedScope: .empty,
                defaultScope: .empty, audiences: [])
            let request = RefreshRequest(
                requestID: UniqueID(high: 0, low: 1), client: client, refreshToken: "", scope: nil)
            let token = RefreshToken(grantID: UniqueID(high: 0, low: 2), generation: 1)
            #expect(Rotation(request, token, lifetimes).grace == (authentication == .none ? 10 : 60))
        }
    }
}
