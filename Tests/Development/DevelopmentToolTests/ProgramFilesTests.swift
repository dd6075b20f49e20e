import BrokerHarness
import Testing

@testable import native_sso_dev

@Suite struct ProgramFilesTests {
    @Test func bothProgramsLieInOneDirectory() throws {
        let tool = try BuildProducts.path(of: "native-sso-dev")
        let files = try ProgramFiles(in: String(tool.dropLast("/native-sso-dev".count)))
        #expect(files.developmentTool == tool)
        #expect(files.broker == (try BuildProducts.path(of: "native-sso")))
    }

    @Test func whatIsNotBuiltIsNamed() {
        #expect(throws: MissingProgram(path: "/nonexistent/native-sso-dev")) { try ProgramFiles(in: "/nonexistent") }
    }

    @Test func theBrokersOwnVariablesAreKeptFromIt() {
        let environment = ["PATH": "/bin", "NATIVE_SSO_ISSUER": "https://elsewhere.example", "HOME": "/root"]
        #expect(ProgramFiles.passedOn(environment) == ["PATH": "/bin", "HOME": "/root"])
    }
}
