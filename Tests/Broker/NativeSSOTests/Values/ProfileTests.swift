import NativeSSO
import Testing

@Suite struct ProfileTests {
    @Test func onlyDraft07AsksForOpenID() {
        #expect(Profile.allCases.filter(\.requiresOpenIDScope) == [.deviceSecret])
    }
}
