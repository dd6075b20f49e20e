@testable import NativeSSO
import Testing

@Suite struct LifetimesTests {
    @Test func theGraceDependsOnWhatBindsTheClient() {
        let lifetimes = Lifetimes(refreshGrace: 60, unboundRefreshGrace: 10)
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

    @Test func defaults() {
        let lifetimes = Lifetimes()
        #expect(lifetimes.accessToken == 300)
        #expect(lifetimes.refreshGrace == 60)
        #expect(lifetimes.unboundRefreshGrace == 10)
        #expect(lifetimes.sessionIdle == .days(30))
    }
}
