import NativeSSO
import RegularFiles

/// Reads the configuration: one file, overridden key by key by the environment. Reports everything that is wrong, at once.
enum ConfigurationReader {
    struct Result: Sendable {
        let configuration: Configuration
        /// Doubtful, but possible. In the order of the file.
        let warnings: [ConfigurationProblem]
    }

    /// The longest file accepted, in octets.
    static let limit = 1 << 20

    static func read(file: String, environment: [String: String]) throws(ConfigurationError) -> Result {
        let yaml: String
        do throws(ValueDefect) {
            yaml = try text(of: file)
        } catch {
            let problem = ConfigurationProblem(place: .file, message: error.message)
            throw ConfigurationError(file: file, problems: [problem])
        }
        return try read(yaml: yaml, file: file, environment: environment)
    }

    /// - Parameter file: For messages only.
    static func read(
        yaml: String, file: String, environment: [String: String]
    ) throws(ConfigurationError) -> Result {
        let document: ConfigurationDocument
        do throws(ConfigurationProblem) {
            document = try ConfigurationDocument(yaml: yaml)
        } catch {
            throw ConfigurationError(file: file, problems: [error])
        }
        let problems = Problems()
        let variables = Variables(environment)
        let root = Section(path: "", place: .file, variables: variables, problems: problems)
        root.fill(from: document)
        let configuration = Configuration(reading: root)
        root.end()
        variables.reportUnknown(to: problems)
        guard let configuration, problems.errors.isEmpty else {
            throw ConfigurationError(file: file, problems: problems.errors.sorted())
        }
        return Result(configuration: configuration, warnings: problems.warnings.sorted())
    }

    private static func text(of file: String) throws(ValueDefect) -> String {
        // It names the issuers whose tokens are believed.
        let octets = try RegularFile.trusted(file, limit: limit)
        guard let text = String(validating: octets, as: UTF8.self) else { throw ValueDefect("is not UTF-8") }
        return text
    }
}
